"""3. A classifier is a prior and one density per class; a decision is a posterior and a cost."""
